//go:build ignore

// openai-go, Chat Completions, with its accumulator.
package main

import (
	"context"
	"errors"

	"drivers/twotools"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"
)

func main() {
	ctx := context.Background()
	client := openai.NewClient()
	params := openai.ChatCompletionNewParams{
		Model:    twotools.Model(),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(twotools.Prompt())},
	}
	for _, tool := range twotools.Tools() {
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name:        tool.Name,
			Description: openai.String(tool.Description),
			Parameters:  tool.Schema,
		}))
	}
	for range twotools.Turns {
		message, err := ask(ctx, client, params)
		twotools.Must(err)
		if len(message.ToolCalls) == 0 {
			break
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			result, err := twotools.Run(call.Function.Name, call.Function.Arguments)
			twotools.Must(err)
			params.Messages = append(params.Messages, openai.ToolMessage(result, call.ID))
		}
	}
}

func ask(
	ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams,
) (openai.ChatCompletionMessage, error) {
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	if len(all.Choices) == 0 {
		return openai.ChatCompletionMessage{}, errors.New("no choice")
	}
	return all.Choices[0].Message, nil
}
