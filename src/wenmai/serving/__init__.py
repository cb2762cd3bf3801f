"""What others use a model for.

filtering.py   the lines of a file that a language model finds likely enough
spark.py       rows of a file → their answers, on Spark

api.py         the HTTP API: its routes; schemas.py: what is asked and answered; streaming.py: texts as events
service.py     what the routes use, how it begins and ends
comparisons.py reports of wenmai compare, for the lab
server.py      the process: uvicorn, and how it stops
runs.py        runs by their names, loaded when they are asked for, let go by memory
inputs.py      inputs as JSON has them
batching.py    requests of many clients, answered together
generation.py  texts of many clients, written side by side
training.py    `wenmai train` in a process of its own; uploads.py: the data that a client sends
safety.py      what every request has to pass; limits.py: how much one may ask for
refusals.py    what a client is told when it gets no answer
metrics.py     what the server counts of itself
lab/           the page
"""
