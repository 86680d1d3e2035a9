//go:build ignore

// openai-go, Responses, with the calls of the final event.
package main

import (
	"context"
	"errors"

	"drivers/twotools"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
)

func main() {
	ctx := context.Background()
	client := openai.NewClient()
	params := responses.ResponseNewParams{Model: twotools.Model()}
	input := responses.ResponseInputParam{
		responses.ResponseInputItemParamOfMessage(twotools.Prompt(), responses.EasyInputMessageRoleUser),
	}
	for _, tool := range twotools.Tools() {
		function := responses.ToolParamOfFunction(tool.Name, tool.Schema, false)
		function.OfFunction.Description = openai.String(tool.Description)
		params.Tools = append(params.Tools, function)
	}
	for range twotools.Turns {
		params.Input.OfInputItemList = input
		response, err := ask(ctx, client, params)
		twotools.Must(err)
		var results responses.ResponseInputParam
		for _, item := range response.Output {
			if item.Type != "function_call" {
				continue
			}
			result, err := twotools.Run(item.Name, item.Arguments.OfString)
			twotools.Must(err)
			input = append(input, responses.ResponseInputItemParamOfFunctionCall(item.Arguments.OfString, item.CallID, item.Name))
			output := responses.ResponseInputItemParamOfFunctionCallOutput(result)
			output.OfFunctionCallOutput.CallID = openai.String(item.CallID)
			results = append(results, output)
		}
		if len(results) == 0 {
			break
		}
		input = append(input, results...)
	}
}

func ask(
	ctx context.Context, client openai.Client, params responses.ResponseNewParams,
) (*responses.Response, error) {
	stream := client.Responses.NewStreaming(ctx, params)
	var response *responses.Response
	for stream.Next() {
		if event := stream.Current(); event.Type == "response.completed" {
			response = &event.Response
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if response == nil {
		return nil, errors.New("the response did not complete")
	}
	return response, nil
}
