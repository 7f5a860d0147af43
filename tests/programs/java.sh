#!/usr/bin/env bash
# A JVM: javac and a program whose threads use direct buffers and zlib, which allocate with malloc.
. "$(dirname -- "$0")/program.sh"
needs=(java javac)
waiter=(java java -Xmx128m "$here/Rounds.java" wait) # compiles in memory, runs, then reads its input

# A small heap and few compiler threads, so that the JVM's own choices do not depend on the machine's size.
job() {
  java -version 2>&1
  javac -J-Xmx256m -d . "$here/Rounds.java"
  java -Xmx128m -XX:+UseSerialGC -cp . Rounds
  java -Xmx128m -XX:+UseG1GC -cp . Rounds
}

program "$@"
