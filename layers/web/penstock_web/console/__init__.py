"""Implements the console: pages for people at /console, rendered on the server, over the same operations as the REST
API.

    console.py     adds the routes to an application, unless QUEUE_CONSOLE is off
    screen.py      `@screen`: path, right, title and position of a page; `@act`: the right of a form
    console_route.py  admits a request: host, origin, session, rights
    page.py        an admitted request; forms.py: what it says; responses.py: its answer
    sign_in.py     keys, sessions and cookies
    readings.py    one reading for all viewers of a process
    rendering.py   templates and their filters, styles and scripts
    screens/       a module a screen

The console imports Jinja2, which the functions of AWS's actions lack. `application` and `rest.lambda_function`
therefore import the console only if it is enabled.
"""
