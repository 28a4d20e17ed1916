"""Min, Mallada & Vidal (2024): early neuron alignment on orthogonally separable data [min2024]."""
