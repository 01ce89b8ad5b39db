// Calls KEDA's SQS scaler like KEDA's operator. Arguments: the address, the region, a queue's URL.
// Prints the length that KEDA uses, whether KEDA would scale from zero, and the target, for each set of options.
package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

type seen struct {
	Length int64
	Active bool
	Target int64
}

func ask(address string, region string, url string, options map[string]string) (seen, error) {
	metadata := map[string]string{"queueURL": url, "awsRegion": region, "awsEndpoint": address, "queueLength": "2"}
	for name, value := range options {
		metadata[name] = value
	}
	ctx := context.Background()
	scaler, err := scalers.NewAwsSqsQueueScaler(ctx, &scalersconfig.ScalerConfig{
		TriggerMetadata:   metadata,
		AuthParams:        map[string]string{"awsAccessKeyId": "x", "awsSecretAccessKey": "x"},
		GlobalHTTPTimeout: time.Minute,
	})
	if err != nil {
		return seen{}, err
	}
	defer scaler.Close(ctx)
	metrics, active, err := scaler.GetMetricsAndActivity(ctx, "length")
	if err != nil {
		return seen{}, err
	}
	target := scaler.GetMetricSpecForScaling(ctx)[0].External.Target.AverageValue
	return seen{metrics[0].Value.Value(), active, target.Value()}, nil
}

func main() {
	cases := map[string]map[string]string{
		"default":     {},
		"not flying":  {"scaleOnInFlight": "false"},
		"delayed too": {"scaleOnDelayed": "true"},
		"activation":  {"activationQueueLength": "6"},
	}
	found := map[string]seen{}
	for name, options := range cases {
		one, err := ask(os.Args[1], os.Args[2], os.Args[3], options)
		if err != nil {
			panic(err)
		}
		found[name] = one
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		panic(err)
	}
}
