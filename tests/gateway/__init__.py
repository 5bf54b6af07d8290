"""The tests of the loopback model gateway, which is a part of the product; and its short name for other tests."""

from controller.conformance.loopback import *  # noqa: F403
