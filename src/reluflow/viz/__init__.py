"""Results in, figures out; matplotlib lives here and only here."""
