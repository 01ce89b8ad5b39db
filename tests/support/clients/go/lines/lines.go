// Package lines lets a client make the calls that it reads, one JSON object a line, and prints the responses.
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

// Serve ends with the input. The methods of client take the arguments of before, then a pointer to their input; they
// return their output and an error. Of an error that the service answered, code tells the code; any other is the end.
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
