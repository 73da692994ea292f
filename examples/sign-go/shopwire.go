package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	timeout    = 20 * time.Second
	toleranceS = 300
)

// Refused is an error answer of the store.
type Refused struct {
	Status        int
	Type, Message string
}

func (r *Refused) Error() string { return fmt.Sprintf("%d %s: %s", r.Status, r.Type, r.Message) }

var client = &http.Client{
	Timeout: timeout,
	// Redirects are not followed: a signature is valid for one path, and the store never redirects.
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Call makes one attempt, signed now. body is the JSON exactly as it is to be sent, nil for none. An error that is not Refused
// means that there was no answer: an order may have been bought, so send it again with the same idempotency_key.
func Call(method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(method, os.Getenv("SHOPWIRE_BASE_URL")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	timestamp, nonce := strconv.FormatInt(time.Now().Unix(), 10), hex.EncodeToString(random)
	// RequestURI is path and query as they go over the wire.
	signature := Sign(os.Getenv("SHOPWIRE_API_SECRET"), method, request.URL.RequestURI(), timestamp, nonce, body)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", os.Getenv("SHOPWIRE_API_KEY"))
	request.Header.Set("X-Api-Timestamp", timestamp)
	request.Header.Set("X-Api-Nonce", nonce)
	request.Header.Set("X-Api-Signature", signature)
	// On a broken kept-alive connection net/http would resend the request by itself, and a repeated signature is refused.
	request.Close = true

	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, refusal(response.StatusCode, answer)
	}
	return answer, nil
}

// Sign gives the signature in hex. target is path and query as they go over the wire, body the bytes as sent.
func Sign(secret, method, target, timestamp, nonce string, body []byte) string {
	sum := sha256.Sum256(body)
	canonical := strings.Join([]string{method, target, timestamp, nonce, hex.EncodeToString(sum[:])}, "\n")
	return hex.EncodeToString(mac(secret, []byte(canonical)))
}

var (
	timestampForm = regexp.MustCompile(`^[1-9][0-9]{9}$`)
	eventIDForm   = regexp.MustCompile(`^evt_[0-9a-z]{26}$`)
	signatureForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// VerifyWebhook tells whether the store sent this. secrets are those you hold, two while you rotate; body is the raw bytes.
func VerifyWebhook(secrets []string, headers http.Header, body []byte, now time.Time) bool {
	timestamp, id := headers.Get("X-Webhook-Timestamp"), headers.Get("X-Webhook-Id")
	signature := headers.Get("X-Webhook-Signature")
	previous := headers.Get("X-Webhook-Signature-Previous") // for a day after a rotation
	if !timestampForm.MatchString(timestamp) || !eventIDForm.MatchString(id) || !signatureForm.MatchString(signature) {
		return false
	}
	sentS, _ := strconv.ParseInt(timestamp, 10, 64)
	if offS := now.Unix() - sentS; offS > toleranceS || offS < -toleranceS {
		return false
	}
	signed := append([]byte(timestamp+"."+id+"."), body...)
	for _, secret := range secrets {
		if secret == "" { // an unset variable is a key that everybody knows
			continue
		}
		expected := mac(secret, signed)
		for _, one := range []string{signature, previous} {
			presented, err := hex.DecodeString(one)
			if err == nil && signatureForm.MatchString(one) && hmac.Equal(presented, expected) {
				return true
			}
		}
	}
	return false
}

func mac(secret string, text []byte) []byte {
	hash := hmac.New(sha256.New, []byte(secret))
	hash.Write(text)
	return hash.Sum(nil)
}

func refusal(status int, answer []byte) error {
	var said struct {
		Error struct{ Type, Message string }
	}
	if json.Unmarshal(answer, &said) != nil || said.Error.Type == "" {
		return &Refused{status, "not_the_store", "this answer did not come from the store"}
	}
	return &Refused{status, said.Error.Type, said.Error.Message}
}
