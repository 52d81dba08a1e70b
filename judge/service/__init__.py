"""The annotation service: runs, studies, reviews and single annotations over HTTP.

Nothing here is imported before `judge serve` or `judge reviews` is called. FastAPI and
uvicorn come with the extra `serve`.
"""
