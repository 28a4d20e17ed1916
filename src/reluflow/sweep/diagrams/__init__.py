"""Phase diagrams of the field, each a registered example: what is swept, what is drawn, what is found."""
