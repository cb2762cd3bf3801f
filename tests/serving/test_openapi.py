"""The OpenAPI document is true: whatever schemathesis makes of it, nothing but a documented status comes back, in its form."""

import pytest

schemathesis = pytest.importorskip(
    "schemathesis", reason="schemathesis tries the API: pip install schemathesis"
)

from hypothesis import HealthCheck, Phase, settings  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

OPERATIONS = [
    "GET /healthz",
    "GET /readyz",
    "GET /v1/runs",
    "GET /v1/runs/{run}",
    "GET /v1/comparisons",
    "GET /v1/comparisons/{name}",
    "POST /v1/predict",
    "POST /v1/generate",
    "POST /v1/inspect",
    "GET /v1/catalog",
    "POST /v1/data",
    "GET /v1/train",
    "POST /v1/train",
    "GET /v1/train/{id}",
    "GET /v1/train/{id}/events",
    "POST /v1/train/{id}/cancel",
]


@pytest.fixture(scope="module")
def schema(server):
    return schemathesis.openapi.from_dict(server.get("/openapi.json").json)


def test_every_route_is_documented_and_every_post_says_400(server):
    document = server.get("/openapi.json").json
    found = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
    }
    assert found == {*OPERATIONS, "GET /metrics"}
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            if method == "post":
                assert {"200", "400", "401", "403", "413", "415", "422", "429", "503"} <= about[
                    "responses"
                ].keys(), path
            assert about.get("summary") and about["responses"]["200"].get("content"), path


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_schemathesis_makes_of_it(server, schema, operation):
    method, path = operation.split()

    @settings(
        max_examples=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
    )
    @schemathesis_given(schema[path][method])
    def tried(case):
        if isinstance(case.body, dict) and "minutes" in case.body:
            case.body["minutes"] = 0.01
        response = case.call(base_url=f"http://127.0.0.1:{server.port}", timeout=60)
        checks = [content_type_conformance, status_code_conformance, response_schema_conformance]
        case.validate_response(
            response,
            checks=checks if response.status_code == 503 else [not_a_server_error, *checks],
        )

    tried()


def schemathesis_given(operation):
    from hypothesis import given

    return given(case=operation.as_strategy())
