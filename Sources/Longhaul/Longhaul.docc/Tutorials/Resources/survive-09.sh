kill -9 $!
