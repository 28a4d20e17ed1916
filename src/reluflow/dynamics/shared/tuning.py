"""The tuned constants that both solvers of the flow share: what each does, and what was seen when it was chosen."""

# the closed-form start at a tiny scale
FROZEN_SHARE = 0.03  # share of `rtol` that outputs may reach, in units of the loss's output scale, with frozen forces

# the clock of a fading loss
FALL_PER_PANEL = 4.0  # of ln R: sixteen Gauss nodes then give all digits
MOST_PANELS = 20_000
SEEN = 40.0  # time that passes while R is e^40 times as large as at the end is below rounding there
MOST_UNEVEN = 4.0  # ratio of the slopes of ln R within a step up to which they count as alike
