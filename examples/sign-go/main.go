package main

import (
	"fmt"
	"os"
)

// go run .                  asks the store who we are
// go run . vectors FOLDER   checks Sign and VerifyWebhook against the test vectors
func main() {
	if len(os.Args) == 3 && os.Args[1] == "vectors" {
		os.Exit(checkVectors(os.Args[2]))
	}
	answer, err := Call("GET", "/ping", nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(answer))
}
