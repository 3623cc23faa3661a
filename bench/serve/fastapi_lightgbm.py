"""The peer: a lean FastAPI server with LightGBM. No validation model, orjson on both sides, one thread of LightGBM per process."""

import lightgbm
import numpy
import orjson
from fastapi import FastAPI, Request, Response

app = FastAPI()
booster = lightgbm.Booster(model_file="model.txt")


@app.post("/rank")
async def rank(request: Request) -> Response:
    rows = numpy.array(orjson.loads(await request.body())["features"], dtype=numpy.float64)
    scores = booster.predict(rows, num_threads=1)
    return Response(orjson.dumps({"scores": scores}, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")
