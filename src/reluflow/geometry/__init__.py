"""What is decided before training: activation patterns, cones, extremal vectors."""
