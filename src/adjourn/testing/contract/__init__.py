"""What a store promises, one test each, grouped by verb. `adjourn.testing.StoreContract` is all of
them."""
