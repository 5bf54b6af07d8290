"""A real Buildbot, pinned, from the package index: `scripts/test buildbot`."""
