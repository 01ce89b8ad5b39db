"""Forecasts the backlog of a queue for the next hour, if the forecast beats "it stays as it is" on the queue's past.

    series the past of a queue: depths every five minutes, and by the hour for four weeks
    methods     the candidates: trends, and the values an hour, a day or a week before
    backtest    what each would have said at every fifth minute of the last day, and which is better than no change
    intervals   80 % intervals out of the errors of that backtest, and how many of them held
    outlook     rates, the time to drain, and all of this for one queue: its row of queue.metrics_forecast
    growth      warnings: retention is reached, the consumers never catch up

All functions except `outlook.rows_of_partition` take numpy arrays. No function reads a clock or the database.
"""
