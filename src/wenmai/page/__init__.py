"""What a reader sees, in both languages, told once for terminal, Markdown and page.

leaderboard.py         words, columns, how it was measured, scores by the length of what was read
pictures.py            pictures as SVG, and how numbers and a user's words are written
report_page.py         the report as one HTML file; report.css and report.js go into it
panels.py              what there is to show of a model, as data
panels_json.py         the same as JSON and back; packing.py: its numbers as a page holds them
renderer.py            the script that draws panels in a page, put together from drawing/, its styles and words
inspection_page.py     an inspection as one page, as files, and in a notebook
panel_pictures.py      panels as SVG and PNG; panel_diagram.py: boxes and arrows, and as Mermaid
inspection_terminal.py an inspection in the terminal
assets.py              scripts and styles, and the policy of pages; base.css and language.js are shared by all
strict_json.py         JSON without NaN
terminal.py            tables, progress bars
"""
