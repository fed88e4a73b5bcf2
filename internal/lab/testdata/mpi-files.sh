# What mpirun and one program of it need beside a plain system: their files, one a line.
set -e
lib=/usr/lib/$(gcc -print-multiarch)
modules=$(find $lib/openmpi/lib $lib/ucx $lib/pmix2 -name '*.so*')
ldd /usr/bin/orterun /usr/bin/orted "$1" $modules 2>/dev/null | awk '$2 == "=>" && $3 ~ "^/" {print $3}' | sort -u
find $lib/openmpi/lib $lib/ucx $lib/pmix2 /usr/share/openmpi /etc/openmpi ! -type d
ls /usr/bin/orterun /usr/bin/orted
