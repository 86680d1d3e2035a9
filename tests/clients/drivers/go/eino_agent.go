//go:build ignore

// eino, its ReAct agent, streaming, with its OpenAI model.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"drivers/twotools"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
)

type weather struct {
	City string `json:"city" jsonschema:"required"`
	Unit string `json:"unit" jsonschema:"required,enum=celsius,enum=fahrenheit"`
}

type file struct {
	Path string `json:"path" jsonschema:"required"`
}

func main() {
	ctx := context.Background()
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{
		APIKey: os.Getenv("OPENAI_API_KEY"), BaseURL: os.Getenv("OPENAI_BASE_URL"), Model: twotools.Model(),
	})
	twotools.Must(err)
	first, err := utils.InferTool("get_weather", "Get the weather of a city.",
		func(_ context.Context, in weather) (string, error) {
			return twotools.Result("get_weather", map[string]any{"city": in.City, "unit": in.Unit}), nil
		})
	twotools.Must(err)
	second, err := utils.InferTool("read_file", "Read a text file.",
		func(_ context.Context, in file) (string, error) {
			return twotools.Result("read_file", map[string]any{"path": in.Path}), nil
		})
	twotools.Must(err)
	agent, err := react.NewAgent(ctx, &react.AgentConfig{
		ToolCallingModel: model,
		ToolsConfig:      compose.ToolsNodeConfig{Tools: []tool.BaseTool{first, second}},
		MaxStep:          2 * twotools.Turns,
	})
	twotools.Must(err)
	stream, err := agent.Stream(ctx, []*schema.Message{schema.UserMessage(twotools.Prompt())})
	twotools.Must(err)
	defer stream.Close()
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		twotools.Must(err)
	}
}
