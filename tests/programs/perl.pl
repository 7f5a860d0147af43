# A deterministic tour through what makes Perl allocate; prints one line a stage.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);

my $state = 12345;
sub rnd {
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    return ($state >> 8) % $_[0];
}

# Hashes of strings that come and go.
my %table;
for my $step (1 .. 150_000) {
    my $key = 'key' . rnd(40_000);
    if (exists $table{$key} && rnd(3) == 0) {
        delete $table{$key};
    } else {
        $table{$key} .= 'v' x rnd(40);
    }
}
print 'hash ', scalar(keys %table), ' ', md5_hex(join ',', map { "$_=$table{$_}" } sort keys %table), "\n";

# Nested data, built and torn down.
for my $round (1 .. 3) {
    my @rows = map { { id => $_, list => [ map { rnd(1000) } 1 .. 8 ], name => 'n' . rnd(10**6) } } 1 .. 15_000;
    my @sorted = sort { $a->{name} cmp $b->{name} || $a->{id} <=> $b->{id} } @rows;
    print "rows $round ", md5_hex(join ';', map { "$_->{name}:@{$_->{list}}" } @sorted), "\n";
}

# A string that grows by appending and is taken apart again.
my $text = '';
$text .= chr(97 + rnd(26)) . (rnd(6) ? '' : ' ') for 1 .. 600_000;
my %words;
$words{$_}++ for split / +/, $text;
(my $swapped = $text) =~ s/(\w)(\w)/$2$1/g;
print 'text ', length($text), ' ', scalar(keys %words), ' ', md5_hex($swapped), "\n";

# Closures that hold each other's results.
my @closures = map { my $n = $_; sub { return "$n" x ($_[0] % 7) } } 1 .. 20_000;
print 'closures ', md5_hex(join '', map { $closures[$_]->($_) } 0 .. $#closures), "\n";

# Children that allocate in a copy of this heap.
$| = 1;
for my $number (1 .. 4) {
    my $child = fork() // die "fork: $!";
    if ($child == 0) {
        my @more = map { $_ x 3 } keys %table;
        print "child $number ", md5_hex(join '', sort @more), "\n";
        exit 0;
    }
    waitpid $child, 0;
    die "child $number ended with status $?" if $? != 0;
}
