package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

type vector struct {
	Name, Secret, Method, Target, Timestamp, Nonce, Signature string
	BodyUTF8                                                  string  `json:"body_utf8"`
	BodyHex                                                   *string `json:"body_hex"`
	Valid                                                     bool
	Receiver                                                  struct {
		Secrets []string
		NowS    int64 `json:"now_s"`
		Headers map[string]string
	}
}

func checkVectors(folder string) int {
	requests, events := readVectors(folder, "request-signing.json"), readVectors(folder, "webhook-signing.json")
	wrong := 0
	tell := func(v vector) {
		fmt.Println("wrong:", v.Name)
		wrong++
	}
	for _, v := range requests {
		if Sign(v.Secret, v.Method, v.Target, v.Timestamp, v.Nonce, v.body()) != v.Signature {
			tell(v)
		}
	}
	for _, v := range events {
		headers := http.Header{}
		for name, value := range v.Receiver.Headers {
			headers.Set(name, value)
		}
		if VerifyWebhook(v.Receiver.Secrets, headers, v.body(), time.Unix(v.Receiver.NowS, 0)) != v.Valid {
			tell(v)
		}
	}
	fmt.Printf("%d requests, %d events, %d wrong\n", len(requests), len(events), wrong)
	if wrong > 0 || len(requests) == 0 || len(events) == 0 {
		return 1
	}
	return 0
}

func (v vector) body() []byte {
	if v.BodyHex == nil {
		return []byte(v.BodyUTF8)
	}
	body, err := hex.DecodeString(*v.BodyHex)
	must(err)
	return body
}

func readVectors(folder, name string) []vector {
	text, err := os.ReadFile(filepath.Join(folder, name))
	must(err)
	var file struct{ Cases []vector }
	must(json.Unmarshal(text, &file))
	return file.Cases
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
