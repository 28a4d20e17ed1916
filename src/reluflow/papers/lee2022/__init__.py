"""All that is known of Lee, Sim & Ye (2022) [lee2022]: model, data, assumptions, theorems, errata and figures."""
