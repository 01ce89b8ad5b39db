// Runs version 2 of the SDK for Go. Argument: the service's address.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"penstock-clients/lines"
)

func main() {
	client := sqs.New(sqs.Options{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("x", "x", ""),
		BaseEndpoint: aws.String(os.Args[1]),
		Retryer:      aws.NopRetryer{},
	})
	lines.Serve(client, []any{context.Background()}, func(err error) (string, bool) {
		var refused smithy.APIError
		if errors.As(err, &refused) {
			return refused.ErrorCode(), true
		}
		return "", false
	})
}
