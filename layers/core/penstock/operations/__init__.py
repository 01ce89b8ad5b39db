"""The rules of the service: one generator an action. They yield effects (`penstock.effects`) and return a result."""
