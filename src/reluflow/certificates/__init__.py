"""What a network provably is: KKT, max-margin, stationarity, each with its residuals."""
