<?php

declare(strict_types=1);

require __DIR__ . '/shopwire.php';

try {
    echo json_encode(Shopwire\call('GET', '/ping')), "\n";
} catch (Shopwire\Refused | Shopwire\Unanswered $error) {
    fwrite(STDERR, $error->getMessage() . "\n");
    exit(1);
}
