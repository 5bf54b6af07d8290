"""The suite that says of an installed agent CLI whether it still does what its adapter stands on."""
