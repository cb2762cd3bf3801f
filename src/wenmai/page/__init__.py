"""What a reader sees, in both languages, told once for terminal, Markdown and page.

leaderboard.py  words, columns, how it was measured, scores by the length of what was read
panels.py       what there is to show of a model, as data
pictures.py     pictures as SVG, and how numbers and a user's words are written
report_page.py  the report as one HTML file; report.css and report.js go into it
strict_json.py  JSON without NaN
terminal.py     tables, progress bars
"""
