// Instead of go.mod: versions that speak the Query protocol. Renewed by `go mod tidy -modfile=query.mod`.
module penstock-clients

go 1.24

require (
	github.com/aws/aws-sdk-go v1.47.5
	github.com/aws/aws-sdk-go-v2 v1.22.1
	github.com/aws/aws-sdk-go-v2/credentials v1.15.1
	github.com/aws/aws-sdk-go-v2/service/sqs v1.26.0
	github.com/aws/smithy-go v1.16.0
)

require (
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.2.1 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.5.1 // indirect
	github.com/jmespath/go-jmespath v0.4.0 // indirect
)
