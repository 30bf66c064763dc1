"""What trains and runs networks: the only loop, captured steps, stacks of replicas, checkpoints."""
