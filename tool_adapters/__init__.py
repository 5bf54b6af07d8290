"""Acts: agents, actions, workspace, child processes."""
