// Package twotools has the two tools of every driver, its prompt, and its maximum of turns.
package twotools

import (
	"encoding/json"
	"fmt"
	"os"
)

// Turns is how many requests a driver sends at most.
const Turns = 8

// Tool is a tool that every driver offers.
type Tool struct {
	Name        string
	Description string
	Schema      map[string]any
}

// Call is a tool call that a driver read from a stream.
type Call struct {
	ID        string
	Name      string
	Arguments string
}

// Tools returns the tools, in the order in which they are offered.
func Tools() []Tool {
	return []Tool{
		{"get_weather", "Get the weather of a city.", schema(map[string]any{
			"city": map[string]any{"type": "string"},
			"unit": map[string]any{"type": "string", "enum": []string{"celsius", "fahrenheit"}},
		}, "city", "unit")},
		{"read_file", "Read a text file.", schema(map[string]any{
			"path": map[string]any{"type": "string"},
		}, "path")},
	}
}

func schema(properties map[string]any, required ...string) map[string]any {
	return map[string]any{
		"type":                 "object",
		"properties":           properties,
		"required":             required,
		"additionalProperties": false,
	}
}

// Model returns the model that a driver of OpenAI's APIs asks for.
func Model() string {
	if model := os.Getenv("DRIVER_MODEL"); model != "" {
		return model
	}
	return "gpt-4.1-mini"
}

// Prompt returns the first message of the user.
func Prompt() string {
	if len(os.Args) > 1 {
		return os.Args[1]
	}
	return "What is the weather in Oslo, in celsius? Then read notes.txt."
}

// Run returns the result of a call. It fails if the arguments are not a JSON object.
func Run(name, arguments string) (string, error) {
	var given map[string]any
	if err := json.Unmarshal([]byte(arguments), &given); err != nil {
		return "", fmt.Errorf("arguments of %s: %w", name, err)
	}
	return Result(name, given), nil
}

// Result returns the result of a call whose arguments are parsed.
func Result(name string, given map[string]any) string {
	text := func(key string) (string, bool) { value, ok := given[key].(string); return value, ok }
	switch name {
	case "get_weather":
		city, hasCity := text("city")
		unit, hasUnit := text("unit")
		if hasCity && hasUnit {
			return fmt.Sprintf("Mild in %s, 15 degrees %s.", city, unit)
		}
	case "read_file":
		if path, ok := text("path"); ok {
			return path + " has one line."
		}
	default:
		return fmt.Sprintf("There is no tool %q.", name)
	}
	return fmt.Sprintf("Wrong arguments: %v", given)
}

// Must ends the driver with an error.
func Must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
