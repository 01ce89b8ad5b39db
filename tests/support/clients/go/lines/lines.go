// Package lines reads calls, one JSON object in each line, makes them with a client, and prints the responses.
package lines

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
)

type call struct {
	Action string
	Input  json.RawMessage
}

type answer struct {
	Output any    `json:",omitempty"`
	Code   string `json:",omitempty"`
}

// Serve makes calls until the input ends. The client's methods take the arguments in before and then a pointer to their
// input, and return their output and an error. The function code returns the code of a service's error. Any other error
// ends the program.
func Serve(client any, before []any, code func(error) (string, bool)) {
	reader, writer := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	for reader.More() {
		var asked call
		must(reader.Decode(&asked))
		output, err := perform(reflect.ValueOf(client).MethodByName(asked.Action), before, asked.Input)
		if refusal, refused := code(err); refused {
			must(writer.Encode(answer{Code: refusal}))
			continue
		}
		must(err)
		must(writer.Encode(answer{Output: output}))
	}
}

func perform(method reflect.Value, before []any, data []byte) (any, error) {
	input := reflect.New(method.Type().In(len(before)).Elem())
	must(json.Unmarshal(data, input.Interface()))
	var arguments []reflect.Value
	for _, argument := range before {
		arguments = append(arguments, reflect.ValueOf(argument))
	}
	results := method.Call(append(arguments, input))
	err, _ := results[1].Interface().(error)
	return results[0].Interface(), err
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
