<?php

// Checks both functions against the test vectors: vectors.php FOLDER, the one with request-signing.json and webhook-signing.json.

declare(strict_types=1);

require __DIR__ . '/shopwire.php';

$cases = fn (string $name): array => json_decode(file_get_contents("$argv[1]/$name"), true, 512, JSON_THROW_ON_ERROR)['cases'];
$bodyOf = fn (array $case): string => isset($case['body_hex']) ? hex2bin($case['body_hex']) : $case['body_utf8'];
$requests = $cases('request-signing.json');
$events = $cases('webhook-signing.json');
$wrong = [];

foreach ($requests as $case) {
    ['secret' => $secret, 'method' => $method, 'target' => $target, 'timestamp' => $timestamp, 'nonce' => $nonce] = $case;
    if (Shopwire\sign($secret, $method, $target, $timestamp, $nonce, $bodyOf($case)) !== $case['signature']) {
        $wrong[] = $case['name'];
    }
}
foreach ($events as $case) {
    ['secrets' => $secrets, 'headers' => $headers, 'now_s' => $now] = $case['receiver'];
    if (Shopwire\verifyWebhook($secrets, array_change_key_case($headers), $bodyOf($case), $now) !== $case['valid']) {
        $wrong[] = $case['name'];
    }
}

foreach ($wrong as $name) {
    echo "wrong: $name\n";
}
printf("%d requests, %d events, %d wrong\n", count($requests), count($events), count($wrong));
exit($wrong !== [] || $requests === [] || $events === [] ? 1 : 0);
