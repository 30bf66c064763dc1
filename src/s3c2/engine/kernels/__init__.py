"""GPU kernels, each with what torch does in its place."""
