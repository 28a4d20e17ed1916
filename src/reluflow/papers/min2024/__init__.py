"""Min, Mallada & Vidal (2024): early neuron alignment from small initialisation, figure by figure."""
