<?php
// Strings, arrays, objects and regular expressions, and what extensions allocate.
mt_srand(4711);
$words = [];
for ($i = 0; $i < 30000; $i++)
    $words[] = md5((string) mt_rand());
sort($words);
$tree = [];
foreach ($words as $word)
    $tree[$word[0]][$word[1]][] = strrev($word);
$sum = 0;
foreach ($tree as $branch)
    foreach ($branch as $leaves)
        $sum += count($leaves) * strlen(implode('', $leaves));
$text = implode(' ', $words);
$found = preg_match_all('/[a-f]{4,}/', $text, $matches);
$again = json_decode(json_encode($tree), true) == $tree;
$date = (new DateTimeImmutable('2026-01-20', new DateTimeZone('UTC')))->modify('+400 days')->format('c');
$list = new SplObjectStorage();
for ($i = 0; $i < 5000; $i++)
    $list[new ArrayObject(range(0, $i % 50))] = $i;
$extensions = get_loaded_extensions();
printf("%d %d %s %s %d %s %d\n", $sum, $found, $again ? 'equal' : 'not equal', $date, count($list), hash('sha256', serialize($tree)),
    count($extensions));
