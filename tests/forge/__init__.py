"""Forges on loopback: stateful stubs of GitHub and GitLab, and the description that GitHub publishes of its own."""
