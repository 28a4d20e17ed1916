"""Min, Zhu & Vidal (2025), neural collapse of gradient flow on orthogonally separable classes [min2025]."""
