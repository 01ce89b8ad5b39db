module penstock-clients

go 1.24

require github.com/aws/aws-lambda-go v1.49.0
