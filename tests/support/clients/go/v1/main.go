// Runs version 1 of the SDK for Go. Argument: the service's address.
package main

import (
	"errors"
	"os"

	"github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/aws/awserr"
	"github.com/aws/aws-sdk-go/aws/credentials"
	"github.com/aws/aws-sdk-go/aws/session"
	"github.com/aws/aws-sdk-go/service/sqs"

	"penstock-clients/lines"
)

func main() {
	client := sqs.New(session.Must(session.NewSession(&aws.Config{
		Region:      aws.String("us-east-1"),
		Credentials: credentials.NewStaticCredentials("x", "x", ""),
		Endpoint:    aws.String(os.Args[1]),
		MaxRetries:  aws.Int(0),
	})))
	lines.Serve(client, nil, func(err error) (string, bool) {
		var refused awserr.RequestFailure
		if errors.As(err, &refused) {
			return refused.Code(), true
		}
		return "", false
	})
}
