<?php

declare(strict_types=1);

namespace Shopwire;

const TIMEOUT_S = 20;
const TOLERANCE_S = 300;

/** The store said no. */
final class Refused extends \RuntimeException
{
    public function __construct(public readonly int $status, public readonly string $type, string $message)
    {
        parent::__construct("$status $type: $message");
    }
}

/** Nobody answered. An order may have been bought: send it again with the same idempotency_key. */
final class Unanswered extends \RuntimeException
{
}

/** One attempt, signed now. PHP 8.1 and newer, no extensions. */
function call(string $method, string $path, ?array $body = null): array
{
    $url = getenv('SHOPWIRE_BASE_URL') . $path;
    // The path as it goes over the wire, /v1 and query included.
    $target = preg_replace('#^https?://[^/]+#', '', $url);
    // Serialised once: what is signed is what is sent.
    $bytes = $body === null ? '' : json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES);
    $timestamp = (string) time();
    $nonce = bin2hex(random_bytes(16));
    $signature = sign((string) getenv('SHOPWIRE_API_SECRET'), $method, $target, $timestamp, $nonce, $bytes);
    $context = stream_context_create(['http' => [
        'method' => $method,
        'content' => $bytes,
        'timeout' => TIMEOUT_S,
        // A refusal has a body that says why. Redirects are not followed: a signature is valid for one path, and the
        // store never redirects.
        'ignore_errors' => true,
        'follow_location' => 0,
        'header' => [
            'Content-Type: application/json',
            'X-Api-Key: ' . getenv('SHOPWIRE_API_KEY'),
            "X-Api-Timestamp: $timestamp",
            "X-Api-Nonce: $nonce",
            "X-Api-Signature: $signature",
        ],
    ]]);
    $stream = @fopen($url, 'r', false, $context);
    if ($stream === false) {
        throw new Unanswered(error_get_last()['message'] ?? 'no answer');
    }
    $data = json_decode((string) stream_get_contents($stream), true);
    $status = (int) (explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1] ?? 0);
    fclose($stream);
    if ($status >= 300) {
        $error = $data['error'] ?? ['type' => 'not_the_store', 'message' => 'this answer did not come from the store'];
        throw new Refused($status, $error['type'], $error['message']);
    }
    if (!is_array($data)) {
        throw new Unanswered('the answer was cut short');
    }
    return $data;
}

/** The signature in hex. $target: path and query as they go over the wire. $body: the bytes as sent. */
function sign(string $secret, string $method, string $target, string $timestamp, string $nonce, string $body = ''): string
{
    $canonical = implode("\n", [$method, $target, $timestamp, $nonce, hash('sha256', $body)]);
    return hash_hmac('sha256', $canonical, $secret);
}

/**
 * Whether the store sent this. $secrets: those you hold, two while you rotate. $headers: lower-case names. $body: the raw bytes, from
 * file_get_contents('php://input').
 */
function verifyWebhook(array $secrets, array $headers, string $body, ?int $now = null): bool
{
    $timestamp = $headers['x-webhook-timestamp'] ?? '';
    $id = $headers['x-webhook-id'] ?? '';
    $signature = $headers['x-webhook-signature'] ?? '';
    $previous = $headers['x-webhook-signature-previous'] ?? ''; // for a day after a rotation
    // The D: without it $ also matches before a newline.
    if (!preg_match('/^[1-9][0-9]{9}$/D', $timestamp) || !preg_match('/^evt_[0-9a-z]{26}$/D', $id)) {
        return false;
    }
    if (!preg_match('/^[0-9a-f]{64}$/D', $signature) || abs(($now ?? time()) - (int) $timestamp) > TOLERANCE_S) {
        return false;
    }
    foreach ($secrets as $secret) {
        if ((string) $secret === '') {
            continue; // an unset variable is a key that everybody knows
        }
        $expected = hash_hmac('sha256', "$timestamp.$id.$body", $secret);
        if (hash_equals($expected, $signature) || hash_equals($expected, $previous)) {
            return true;
        }
    }
    return false;
}
