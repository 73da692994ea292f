// Renders a chart as Helm does: with Go's text/template, Sprig, and the YAML package of Helm. Reads
// {"chart": folder, "release", "namespace", "values": [{…}, …]} from standard input; later values win over earlier ones and over
// values.yaml. Prints {"values", "manifests", "notes"}, and "error" when a template could not be rendered. What the chart does not use is
// missing, and a template that uses it is refused: .Capabilities, .Template, and of Helm's own functions those that are not below.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

type fields = map[string]any

type metadata struct{ Name, Version, AppVersion string }

type output struct {
	Values    fields `json:"values"`
	Manifests string `json:"manifests"`
	Notes     string `json:"notes"`
	Error     string `json:"error,omitempty"`
}

func main() {
	printed, err := run()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(printed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() (*output, error) {
	var input struct {
		Chart, Release, Namespace string
		Values                    []fields
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		return nil, err
	}
	all, err := readFiles(input.Chart)
	if err != nil {
		return nil, err
	}
	var chart metadata
	if err := yaml.Unmarshal([]byte(all["Chart.yaml"]), &chart); err != nil {
		return nil, fmt.Errorf("Chart.yaml: %w", err)
	}
	values := fields{}
	if err := yaml.Unmarshal([]byte(all["values.yaml"]), &values); err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	for _, given := range input.Values {
		overlay(values, given)
	}
	templates, others := files{}, files{}
	for name, text := range all {
		if strings.HasPrefix(name, "templates/") {
			templates[name] = text
		} else {
			others[name] = text
		}
	}
	printed := &output{Values: values}
	err = render(printed, templates, fields{
		"Values":  values,
		"Chart":   chart,
		"Files":   others,
		"Release": fields{"Name": input.Release, "Namespace": input.Namespace, "Service": "Helm"},
	}, chart.Name)
	if err != nil {
		printed.Error = err.Error()
	}
	return printed, nil
}

// Maps are merged, everything else is replaced; null removes.
func overlay(under, over fields) {
	for key, value := range over {
		inner, isMap := value.(fields)
		if value == nil {
			delete(under, key)
		} else if known, ok := under[key].(fields); ok && isMap {
			overlay(known, inner)
		} else if isMap {
			under[key] = fields{}
			overlay(under[key].(fields), inner)
		} else {
			under[key] = value
		}
	}
}

// In the order of their names, each below a line that says where it is from, and the notes.
func render(printed *output, templates files, context fields, chart string) error {
	parsed := template.New("").Option("missingkey=zero")
	parsed.Funcs(functions(parsed))
	names := make([]string, 0, len(templates))
	for name, text := range templates {
		names = append(names, name)
		if _, err := parsed.New(chart + "/" + name).Parse(text); err != nil {
			return err
		}
	}
	sort.Strings(names)
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		var text strings.Builder
		if err := parsed.ExecuteTemplate(&text, chart+"/"+name, context); err != nil {
			return err
		}
		// Helm prints nothing in its place.
		if strings.Contains(text.String(), "<no value>") {
			return fmt.Errorf("%s/%s prints a value that does not exist", chart, name)
		}
		if path.Base(name) == "NOTES.txt" {
			printed.Notes = text.String()
		} else if strings.TrimSpace(text.String()) != "" {
			printed.Manifests += fmt.Sprintf("---\n# Source: %s/%s\n%s\n", chart, name, strings.TrimSpace(text.String()))
		}
	}
	return nil
}

func functions(all *template.Template) template.FuncMap {
	known := sprig.TxtFuncMap()
	// As in Helm: what a chart prints does not depend on the machine.
	delete(known, "env")
	delete(known, "expandenv")
	known["include"] = func(name string, data any) (string, error) {
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	known["tpl"] = func(source string, data any) (string, error) {
		clone, err := all.Clone()
		if err != nil {
			return "", err
		}
		if clone, err = clone.New("tpl").Parse(source); err != nil {
			return "", err
		}
		var text strings.Builder
		err = clone.Execute(&text, data)
		return text.String(), err
	}
	known["required"] = func(why string, value any) (any, error) {
		if value == nil || value == "" {
			return nil, errors.New(why)
		}
		return value, nil
	}
	// As without a cluster.
	known["lookup"] = func(apiVersion, kind, namespace, name string) fields { return fields{} }
	known["toYaml"] = func(value any) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	return known
}

// By their paths in the chart.
type files map[string]string

func readFiles(folder string) (files, error) {
	root, found := os.DirFS(folder), files{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		found[name] = string(text)
		return err
	})
	return found, err
}

func (all files) Get(name string) string { return all[name] }

func (all files) Glob(pattern string) (files, error) {
	found := files{}
	for name, text := range all {
		matches, err := path.Match(pattern, name)
		if err != nil {
			return nil, err
		}
		if matches {
			found[name] = text
		}
	}
	return found, nil
}
