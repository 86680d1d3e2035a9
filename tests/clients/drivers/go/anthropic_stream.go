//go:build ignore

// anthropic-sdk-go, Messages, with Accumulate.
package main

import (
	"context"

	"drivers/twotools"

	"github.com/anthropics/anthropic-sdk-go"
)

func main() {
	ctx := context.Background()
	client := anthropic.NewClient()
	params := anthropic.MessageNewParams{
		Model:     "claude-sonnet-4-5",
		MaxTokens: 1024,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(twotools.Prompt()))},
	}
	for _, tool := range twotools.Tools() {
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name:        tool.Name,
			Description: anthropic.String(tool.Description),
			InputSchema: anthropic.ToolInputSchemaParam{
				Properties: tool.Schema["properties"],
				Required:   tool.Schema["required"].([]string),
			},
		}})
	}
	for range twotools.Turns {
		message, err := ask(ctx, client, params)
		twotools.Must(err)
		var results []anthropic.ContentBlockParamUnion
		for _, block := range message.Content {
			if call, ok := block.AsAny().(anthropic.ToolUseBlock); ok {
				result, err := twotools.Run(call.Name, string(call.Input))
				twotools.Must(err)
				results = append(results, anthropic.NewToolResultBlock(call.ID, result, false))
			}
		}
		if len(results) == 0 {
			break
		}
		params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(results...))
	}
}

func ask(
	ctx context.Context, client anthropic.Client, params anthropic.MessageNewParams,
) (*anthropic.Message, error) {
	stream := client.Messages.NewStreaming(ctx, params)
	message := anthropic.Message{}
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			return nil, err
		}
	}
	return &message, stream.Err()
}
