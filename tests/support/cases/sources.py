"""Lists the sources of answers: pages of AWS, botocore's models, and reports of users of AWS."""

from tests.support.cases.case import OURS, Source

__all__ = ["OURS"]

DOCS = "https://docs.aws.amazon.com"
MODELS = {
    "sqs": Source("botocore's model sqs/2012-11-05"),
    "sns": Source("botocore's model sns/2010-03-31"),
    "scheduler": Source("botocore's model scheduler/2021-06-30"),
}
SMITHY = "https://smithy.io/2.0/aws/protocols"
REST_JSON = Source("AWS restJson1 protocol, Smithy", f"{SMITHY}/aws-restjson1-protocol.html")
AWS_JSON = Source("AWS JSON 1.0 protocol, Smithy", f"{SMITHY}/aws-json-1_0-protocol.html")
MALFORMED = Source(
    "malformed requests, Smithy's protocol tests",
    "https://github.com/smithy-lang/smithy/tree/main/smithy-aws-protocol-tests/model/restJson1/malformedRequests",
)
RECORDED = Source("recorded at AWS")
_REFERENCES = {
    "sqs": ("AWSSimpleQueueService/latest/APIReference", "SQS API reference"),
    "sns": ("sns/latest/api", "SNS API reference"),
    "scheduler": ("scheduler/latest/APIReference", "EventBridge Scheduler API reference"),
}
_GUIDES = {
    "sqs": ("AWSSimpleQueueService/latest/SQSDeveloperGuide", "SQS Developer Guide"),
    "sns": ("sns/latest/dg", "SNS Developer Guide"),
    "scheduler": ("scheduler/latest/UserGuide", "EventBridge Scheduler User Guide"),
}


def reference(service: str, page: str) -> Source:
    """Returns a page of an API reference by the name of its action or data type."""
    path, title = _REFERENCES[service]
    return Source(f"{page}, {title}", f"{DOCS}/{path}/API_{page}.html")


def common_errors(service: str) -> Source:
    """Returns the page of errors that all actions share."""
    path, title = _REFERENCES[service]
    return Source(f"Common Errors, {title}", f"{DOCS}/{path}/CommonErrors.html")


def guide(service: str, page: str, title: str) -> Source:
    """Returns a page of a developer guide."""
    path, book = _GUIDES[service]
    return Source(f"{title}, {book}", f"{DOCS}/{path}/{page}.html")


def report(repository: str, number: int) -> Source:
    """Returns a public issue in which a user quotes AWS."""
    return Source(f"{repository}#{number}", f"https://github.com/{repository}/issues/{number}")
