"""Filter policies of subscriptions: compiled when they are set; SQL compares them at each publish."""
